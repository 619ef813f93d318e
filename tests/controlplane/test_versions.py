"""What ganglift builds on and Kubernetes doesn't promise, per version: any change upstream must fail here first."""
