"""A tracker behind HTTP:  python3 examples/http_tracker.py 8080 &  then --tracker 'http("http://localhost:8080")'"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Server(BaseHTTPRequestHandler):
    """Answers each context with the possible values that the user has said."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        slots = [slot for service in asked["schema"]["services"] for slot in service["slots"]]
        answers = []
        for context in asked["contexts"]:
            words = re.findall(r"\w+", " ".join(said["user"] for said in [*context["history"], context]).lower())
            answers.append({"state": {slot["id"]: v for slot in slots for v in slot["values"] if v in words}})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"answers": answers}).encode())


HTTPServer(("localhost", int(sys.argv[1])), Server).serve_forever()
