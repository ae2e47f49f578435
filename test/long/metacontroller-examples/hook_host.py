"""Runs a hook program that serves HTTP on a fixed port, on a free port instead, and prints which.

Arguments: the program, then pairs of a path that the program reads and the path to read instead.
"""

import http.server
import sys


class Server(http.server.HTTPServer):
    def __init__(self, address, handler):
        super().__init__(("127.0.0.1", 0), handler)
        print(f"port {self.server_address[1]}", flush=True)


http.server.HTTPServer = Server
program, *paths = sys.argv[1:]
with open(program) as file:
    source = file.read()
for named, read in zip(paths[::2], paths[1::2]):
    source = source.replace(f'"{named}"', f'"{read}"').replace(f'"{named}/', f'"{read}/')
exec(compile(source, program, "exec"), {"__name__": "__main__", "__file__": program})
