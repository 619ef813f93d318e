"""The demonstration that `ganglift demo` gives: what tells gang scheduling from none, on a real control plane.

command     `ganglift demo`: sets the stage, tells the story, leaves nothing behind
story       the four steps, each of which is checked
world       what the API server shows at one moment
screen      how that is shown: a live table on a terminal, lines on a pipe, a picture in a file
operator    `ganglift run` as a process that ends with the demonstration
manifests   the Jobs
"""
