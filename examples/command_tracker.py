"""A tracker as a program, in any language:  dstress run --tracker 'command("python3 examples/command_tracker.py")'"""

import json
import re
import sys

for line in sys.stdin:
    asked = json.loads(line)
    if "schema" in asked:  # comes first, and is not answered
        slots = [slot for service in asked["schema"]["services"] for slot in service["slots"]]
        continue
    words = re.findall(r"\w+", " ".join(said["user"] for said in [*asked["history"], asked]).lower())
    state = {slot["id"]: value for slot in slots for value in slot["values"] if value in words}
    print(json.dumps({"dialogue": asked["dialogue"], "turn": asked["turn"], "state": state}), flush=True)
