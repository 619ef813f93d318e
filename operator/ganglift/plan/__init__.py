"""The planner: whether a gang fits, where each member goes, and why not. Pure, deterministic, integers only.

What is asked and answered
    request   groups that wait, with their members      verdict   the answers, as values
    queue     in which order they are planned           words     the answers, in words
    plan      all waiting groups at one moment          check     questions about a plan that is already made

The cluster
    shape     a pod as placement sees it                books     nodes and pods, kept in step with every event
    requests  how a pod's requests are summed           ledger    claims, volumes, namespaces, device classes, likewise
    nodes     labels, taints: which node admits whom    snapshot  all of that at one moment
    occupants who holds a place; selectors over them    room      a snapshot that one planning pass takes from

Finding places
    fit       one group: topology, else the reasons     topology  domains and slices, outermost first
    place     by the cheapest method that is exact      domains   which domains may hold the gang, by sums
    pack      like members, by counting                 solve     different members, by an integer programme
    search    members that bear on each other           relations the rules between them (rules, terms, selector)
    explain   causes, counted over nodes                nearmiss  what would help
    filters   one pod on one node                       match     single values against single rules
"""
