"""What stands in for programs that need a network: this folder is first on the path of the sandbox."""
