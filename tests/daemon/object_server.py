# SPDX-License-Identifier: MIT
"""A server of objects for tests, of Python's library alone: HTTP with ranges, and as much of S3 as
reading needs (list-objects-v2 in pages, errors by code). It can misbehave: `fault`, a function of
the request's number, says how. It keeps what it was asked in `requests`; signatures
are verified if it has `accounts`, else looked at."""

import hashlib
import hmac
import random
import re
import socket
import ssl
import struct
import threading
import time
import urllib.parse
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape


class Objects(ThreadingHTTPServer):
    """`folder`: what it serves, at /KEY, or with `bucket` at /BUCKET/KEY and to be listed."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, folder, bucket=None, tls=None, latency=0.0, page=1000):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.bucket, self.latency, self.page = folder, bucket, latency, page
        self.tags, self.dates, self.ranges = True, True, True
        self.fault = lambda number: None
        self.key_id = None  # who may ask; None: anybody
        self.accounts = None  # or secrets by access key: then signatures are verified
        self.expired = set()  # access keys whose time is over
        self.expired_status = 400
        self.redirect = None
        self.region, self.region_status = None, 301  # where the bucket is; None: in any
        self.requests, self.lock, self.count = [], threading.Lock(), 0
        self.under_way = self.most_under_way = 0
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self.server_address[1]}"
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self.thread.start()

    def handle_error(self, request, client_address):
        """Those who hang up are expected."""

    def close(self):
        self.shutdown()
        self.server_close()
        self.thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def environment(self, **more):
        """For a daemon that has this server as its S3."""
        return {"AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": "AKIDTEST",
                "AWS_SECRET_ACCESS_KEY": "open/sesame+12", "AWS_REGION": "eu-test-1",
                "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
                "AWS_EC2_METADATA_DISABLED": "true", **more}


def unlucky(share, seed=1):
    """A fault function: this share of requests is answered 503, reset or cut, each as often."""
    chance, lock = random.Random(seed), threading.Lock()

    def fault(_number):
        with lock:
            return chance.choice(("503", "reset", "cut")) if chance.random() < share else None

    return fault


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        with server.lock:
            server.count += 1
            number = server.count
            server.requests.append((self.path, {name.lower(): value for name, value
                                                in self.headers.items()}))
            server.under_way += 1
            server.most_under_way = max(server.most_under_way, server.under_way)
        try:
            time.sleep(server.latency)
            fault = server.fault(number)
            if fault == "503":
                self.fail(503, "SlowDown")
            elif fault == "reset":
                self.reset()
            elif fault == "html":
                self.say(200, b"<!DOCTYPE html><html>Please log in</html>" + b" " * 2048,
                         Content_Type="text/html")
            elif server.redirect:
                self.say(307, b"", Location=server.redirect + self.path)
            else:
                self.answer(cut=fault == "cut")
        finally:
            with server.lock:
                server.under_way -= 1

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def answer(self, cut):
        server, url = self.server, urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(url.path).lstrip("/")
        if server.bucket:
            bucket, _, path = path.partition("/")
            if server.key_id and f"Credential={server.key_id}/" not in self.headers.get(
                    "Authorization", ""):
                return self.fail(403, "AccessDenied")
            refused = server.accounts is not None and self.verify(server.accounts)
            if refused:
                return self.fail(403, refused)
            if any(f"Credential={key}/" in self.headers.get("Authorization", "")
                   for key in server.expired):
                return self.fail(server.expired_status, "ExpiredToken")
            if server.region and f"/{server.region}/s3/" not in self.headers["Authorization"]:
                return self.elsewhere()
            if bucket != server.bucket:
                return self.fail(404, "NoSuchBucket")
            if url.query:
                return self.list(dict(urllib.parse.parse_qsl(url.query)))
        file = server.folder / path
        if not file.is_file():
            return self.fail(404, "NoSuchKey")
        return self.give(file, cut)

    def verify(self, accounts):
        """None, or the code of what is wrong with the signature (AWS' version 4)."""
        said = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/([^,]+), ?SignedHeaders=([^,]+), "
                            r"?Signature=(\w+)", self.headers.get("Authorization", ""))
        if not said:
            return "AccessDenied"
        key, scope, names, signature = said.groups()
        if key not in accounts:
            return "InvalidAccessKeyId"
        url = urllib.parse.urlsplit(self.path)
        request = "\n".join([
            self.command, url.path, url.query,
            *(f"{name}:{' '.join(self.headers[name].split())}" for name in names.split(";")),
            "", names, self.headers["x-amz-content-sha256"]])
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers["x-amz-date"], scope,
                          hashlib.sha256(request.encode()).hexdigest()])
        secret = ("AWS4" + accounts[key]).encode()
        for part in (*scope.split("/"), text):
            secret = hmac.digest(secret, part.encode(), "sha256")
        return None if secret.hex() == signature else "SignatureDoesNotMatch"

    def give(self, file, cut):
        server, data = self.server, file.read_bytes()
        headers = {"Accept-Ranges": "bytes"}
        if server.tags:
            headers["ETag"] = f'"{hashlib.md5(data).hexdigest()}"'
        if server.dates:
            headers["Last-Modified"] = formatdate(file.stat().st_mtime, usegmt=True)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not wanted or not server.ranges:
            return self.say(200, data, cut=cut, **headers)
        first = int(wanted[1])
        last = min(int(wanted[2] or len(data)), len(data) - 1)
        if first > last:
            return self.fail(416, "InvalidRange")
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        return self.say(206, data[first:last + 1], cut=cut, **headers)

    def list(self, query):
        assert query["list-type"] == "2" and query["encoding-type"] == "url", query
        prefix, after = query.get("prefix", ""), query.get("continuation-token", "")
        quote, entries = urllib.parse.quote_plus, {}
        for file in self.server.folder.rglob("*"):
            key = str(file.relative_to(self.server.folder))
            if file.is_dir() or not key.startswith(prefix):
                continue
            rest = key[len(prefix):]
            name = prefix + rest.split("/")[0] + "/" if "/" in rest else key
            entries[name] = file.stat().st_size
        names = sorted((name for name in entries if name > after), key=str.encode)
        page, more = names[:self.server.page], names[self.server.page:]
        xml = ["<?xml version='1.0' encoding='UTF-8'?><ListBucketResult>",
               f"<Prefix>{quote(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount>",
               "<EncodingType>url</EncodingType>"]
        if more:
            xml.append(f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>")
        for name in page:
            if name.endswith("/"):
                xml.append(f"<CommonPrefixes><Prefix>{quote(name)}</Prefix></CommonPrefixes>")
            else:
                xml.append(f"<Contents><Key>{quote(name)}</Key><Size>{entries[name]}</Size>"
                           "</Contents>")
        self.say(200, "".join([*xml, "</ListBucketResult>"]).encode())

    def elsewhere(self):
        """As AWS says it: a 400 in its body, a redirect in its head."""
        server = self.server
        if server.region_status == 400:
            return self.say(400, "<Error><Code>AuthorizationHeaderMalformed</Code>"
                            f"<Region>{server.region}</Region></Error>".encode())
        return self.say(server.region_status, b"<Error><Code>PermanentRedirect</Code></Error>",
                        x_amz_bucket_region=server.region)

    def fail(self, status, code):
        self.say(status, f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode())

    def say(self, status, body, cut=False, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:len(body) // 2] if cut else body)
        if cut:
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
