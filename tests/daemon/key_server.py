# SPDX-License-Identifier: MIT
"""A server of credentials for tests, of Python's library alone: STS' AssumeRoleWithWebIdentity, a
container's service, and EC2's instance metadata of version 2. Each answer has new keys, AKID0 and
so on, with a secret that begins with SECRET."""

import json
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = "open/sesame"
ROLE, IDENTITY, CONTAINER = "arn:aws:iam::1:role/a+b", "web.identity/token=", "container token"
METADATA = "metadata-token=="


class Keys(ThreadingHTTPServer):
    """`lifetime`: seconds that the keys are good for; `wrong`: None, or how each answer is wrong:
    html, cut, 401 or hang."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lifetime, self.wrong, self.ended = 3600, None, threading.Event()
        self.given, self.asked, self.lock = [], [], threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self.thread.start()

    def handle_error(self, request, client_address):
        """Those who hang up are expected."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.shutdown()
        self.server_close()
        self.thread.join()

    def make(self):
        with self.lock:
            name = f"AKID{len(self.given)}"
            self.given.append(name)
        ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.lifetime))
        return name, f"{SECRET}{name}", f"session+{name}/", ends

    def environment(self, source, folder):
        """For a daemon that has its credentials from here: of web, container or metadata."""
        (folder / "token").write_text({"web": IDENTITY, "container": CONTAINER}.get(source, "") +
                                      "\n")
        if source == "web":
            return {"AWS_ENDPOINT_URL_STS": self.url + "/", "AWS_ROLE_ARN": ROLE,
                    "AWS_WEB_IDENTITY_TOKEN_FILE": str(folder / "token")}
        if source == "container":
            return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{self.url}/container",
                    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(folder / "token")}
        return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": self.url, "AWS_EC2_METADATA_DISABLED": ""}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        form = urllib.parse.parse_qs(
            self.rfile.read(int(self.headers["Content-Length"])).decode(), strict_parsing=True)
        good = form == {"Action": ["AssumeRoleWithWebIdentity"], "Version": ["2011-06-15"],
                        "RoleArn": [ROLE], "RoleSessionName": ["stoker"],
                        "WebIdentityToken": [IDENTITY]}
        if not good:
            return self.say(400, b"<ErrorResponse><Error><Code>InvalidIdentityToken</Code></Error>"
                            b"</ErrorResponse>")
        key, secret, token, ends = self.server.make()
        return self.say(200, f"""<AssumeRoleWithWebIdentityResponse
            xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
            <AssumedRoleUser><Arn>x</Arn></AssumedRoleUser><Credentials>
            <AccessKeyId>{key}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey>
            <SessionToken>{token}</SessionToken><Expiration>{ends}</Expiration></Credentials>
            </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>""".encode())

    def do_PUT(self):
        good = self.path == "/latest/api/token" and int(
            self.headers["X-aws-ec2-metadata-token-ttl-seconds"]) > 0
        self.say(200 if good else 400, METADATA.encode())

    def do_GET(self):
        role = "/latest/meta-data/iam/security-credentials/"
        if self.path == "/container":
            good = self.headers.get("Authorization") == CONTAINER
        else:
            good = self.path.startswith(role) and \
                self.headers.get("X-aws-ec2-metadata-token") == METADATA
        if not good:
            return self.say(403, b"{}")
        if self.path == role:
            return self.say(200, b"a-role\n")
        key, secret, token, ends = self.server.make()
        return self.say(200, json.dumps({
            "Code": "Success", "AccessKeyId": key, "SecretAccessKey": secret, "Token": token,
            "Expiration": ends}).encode())

    def say(self, status, body):
        server = self.server
        server.asked.append(self.path)
        if server.wrong == "hang":
            server.ended.wait(60)
        elif server.wrong == "401":
            status, body = 401, b"no"
        elif server.wrong == "html" and SECRET.encode() in body:
            body = b"<!DOCTYPE html><html>Please log in<br></html>"
        elif server.wrong == "cut" and SECRET.encode() in body:
            body = body[:len(body) - 3]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
