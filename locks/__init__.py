"""Lock files: each package that is installed, at one version, with the hashes of its files. `make lock` makes them."""
