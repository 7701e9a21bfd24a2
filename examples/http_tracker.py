"""A tracker behind HTTP:  python3 examples/http_tracker.py 8080 &  then --tracker 'http("http://localhost:8080")'"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Server(BaseHTTPRequestHandler):
    """Answers each context with the possible values that the user has said."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        slots = [slot for service in asked["schema"]["services"] for slot in service["slots"]]
        answers = []
        for c in asked["contexts"]:
            words = {word.strip(".,?!") for said in [*c["history"], c] for word in said["user"].lower().split()}
            answers.append({"state": {slot["id"]: v for slot in slots for v in slot["values"] if v in words}})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"answers": answers}).encode())


HTTPServer(("localhost", int(sys.argv[1])), Server).serve_forever()
