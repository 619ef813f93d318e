"""The admission protocol: gather, plan, reserve, confirm, lift, settle, take back.

One loop looks at what the watch shows, asks the planner, and starts an admission for each gang that fits. All that it
remembers beside the API is a ledger that can be lost at any moment: a new process reads the same state from the pods.
"""
