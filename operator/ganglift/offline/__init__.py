"""The operator's decisions without the operator: from files, or from one look at a live cluster. Writes nothing there.

documents  bytes of a file, cut into objects        kinds      which kinds mean something, and as what
inventory  all objects, those of the cluster        problems   what is wrong, with file and field
           and those asked for                      checks     quantities and counts
loading    files into an inventory                  listing    a live cluster into an inventory
defaults   what the API server fills into a pod     owners     the pods of a Deployment, Job, ...
expansion  what becomes of the objects asked for    outlook    each group: looked at, planned
storing    an inventory into a snapshot file        report     findings as data
holding    who has the room that a gang lacks       explanation  one group or pod, in words
"""
