"""The planner: whether a gang fits, where each member goes, and why not. Pure, deterministic, integers only.

shape     a pod as placement sees it              requests  how its requests are summed
books     nodes and pods, kept in step            snapshot  the books at one moment; the room of one pass
nodes     which nodes admit which demand          match     single values against single rules
request   what is asked                           queue     in which order
plan      all waiting groups at one moment        fit       one group: a place for each member, or why not
pack      which nodes like pods go to             explain   causes, counted over nodes
check     questions about a plan already made     filters   one pod on one node
verdict   the answers, as values                  words     and in words
"""
