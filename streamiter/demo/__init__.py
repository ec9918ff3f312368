"""The demo: a stream read while its shards split, killed and resumed, without an account and without a server.

`./dev demo` runs it. The service is the simulator of `streamiter.testing`, in this very process, on a clock turned by hand.
"""

READ = "--read"  # the option with which the demo calls itself, for the reader that it kills
