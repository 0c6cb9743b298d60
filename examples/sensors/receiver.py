"""A webhook: takes alarms at http://127.0.0.1:8000/alarms, each only once, and prints them."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

seen: set[str] = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers["Idempotency-Key"]
        if key not in seen:
            seen.add(key)
            for answer in body["answers"]:
                row = {name: term["value"] for name, term in answer["row"].items()}
                print(answer["start"], answer["end"], *(f"{k}={v}" for k, v in row.items()), flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8000), Receiver).serve_forever()
