"""The operator's decisions without the operator: from files, or from one look at a live cluster. Writes nothing there.

documents    bytes of a file, cut into objects        kinds      which kinds mean something, and as what
loading      files into an inventory                  listing    a live cluster into an inventory
inventory    the objects of a cluster, and those      storing    an inventory into a snapshot file
             that are asked for
problems     what is wrong, with file and field       checks     quantities and counts
schema       fields of our kinds                      rules      what their schemas can't say
expansion    what becomes of the objects asked for    replacing  and of what is there under their names
owners       the pods of a Deployment, a Job, ...     defaults   what the API server fills into a pod
members      pods join their groups                   offered    what is asked for and no node has
outlook      each group: looked at, planned           holding    who has the room that a gang lacks
report       outlooks as data                         explanation  one group or pod, in words
"""
