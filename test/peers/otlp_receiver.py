"""Reads OTLP over HTTP with JSON by the published schema (opentelemetry-proto), and prints what came, a line a request."""

import base64
import json
from http.server import BaseHTTPRequestHandler, HTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

KINDS = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}
IDS = ("traceId", "spanId", "parentSpanId")


def as_protobuf(value):
    """OTLP has ids in hexadecimal digits, where the JSON of protobuf has base64."""
    if isinstance(value, list):
        return [as_protobuf(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(one)).decode() if key in IDS else as_protobuf(one)
        for key, one in value.items()
    }


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            # Fields that the schema does not have, or of another type, are errors.
            request = json_format.ParseDict(as_protobuf(json.loads(body)), KINDS[self.path]())
            answer = json_format.MessageToDict(request)
            status = 200
        except Exception as error:
            answer, status = {"error": f"{self.path}: {error}"}, 400
        print(json.dumps(answer), flush=True)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
