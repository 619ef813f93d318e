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

{{/* What the chart itself decides goes over the settings. */}}
{{- define "ganglift.config" -}}
{{- $ours := dict "namespace" .Release.Namespace "httpPort" .Values.metrics.port "leaderElect" true }}
{{- mergeOverwrite (deepCopy .Values.settings) $ours | toYaml }}
{{- end }}
