{{- define "ganglift.name" -}}
{{- if contains "ganglift" .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}{{ else }}{{ printf "%s-ganglift" .Release.Name | trunc 53 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "ganglift.selector" -}}
app.kubernetes.io/name: ganglift
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ganglift.labels" -}}
{{ include "ganglift.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* Seconds of a duration such as 1h30m, or of a number of seconds. */}}
{{- define "ganglift.seconds" -}}
{{- $words := toString . }}
{{- $hours := regexFind "[0-9]+h" $words | trimSuffix "h" | default "0" | float64 }}
{{- $minutes := regexFind "[0-9]+m" $words | trimSuffix "m" | default "0" | float64 }}
{{- $seconds := regexFind "[0-9.]+s" $words | trimSuffix "s" | default "0" | float64 }}
{{- if kindIs "string" . }}{{ addf (mulf $hours 3600.0) (mulf $minutes 60.0) $seconds }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* What the operator would refuse at its start is refused here. The defaults are those of its own settings. */}}
{{- define "ganglift.check" -}}
{{- $first := dig "backoffBase" "1s" .Values.settings }}
{{- $longest := dig "backoffMax" "300s" .Values.settings }}
{{- if lt (include "ganglift.seconds" $longest | float64) (include "ganglift.seconds" $first | float64) }}
{{- printf "settings.backoffMax %v is shorter than settings.backoffBase %v: set both" $longest $first | fail }}
{{- end }}
{{- end }}

{{/* What the chart itself decides goes over the settings. */}}
{{- define "ganglift.config" -}}
{{- include "ganglift.check" . }}
{{- $ours := dict "namespace" .Release.Namespace "httpPort" .Values.metrics.port "leaderElect" true }}
{{- mergeOverwrite (deepCopy .Values.settings) $ours | toYaml }}
{{- end }}
