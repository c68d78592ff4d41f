"""The HTTP port of the real daemon, with hostile clients."""

import os
import random
import socket

import support
from support import Daemon, Kubelet, get, resource

CONFIG = (resource("example.com/null", 'path = "/dev/null"') +
          resource("example.com/seat", "count = 3"))


def connect(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host.strip("[]"), int(port)), timeout=support.PATIENCE)


def talk(address, data):
    """Sends bytes. Returns everything received until the server closes or has responded."""
    with connect(address) as client:
        try:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            answer = b""
            while chunk := client.recv(65536):
                answer += chunk
            return answer
        except OSError:  # closed in our face
            return b""


class Http(support.TestCase):
    def setUp(self):
        super().setUp()
        self.daemon = self.enterContext(Daemon(self.config(CONFIG), self.kubelet_dir))
        self.address = self.daemon.address()

    def assert_alive(self):
        self.assertEqual(get(self.address, "/healthz", timeout=20), (200, "ok\n"))
        self.assertIsNone(self.daemon.process.poll(), "the daemon has ended")

    def test_readyz_lists_unregistered_resources(self):
        self.assertEqual(get(self.address, "/readyz")[0], 503)
        missing = ("example.com/null is not registered with the kubelet\n"
                   "example.com/seat is not registered with the kubelet\n")
        self.await_true(lambda: get(self.address, "/readyz") == (503, missing), "both are unregistered")
        with Kubelet(self.kubelet_dir) as kubelet:
            kubelet.wait_listed("example.com/null")
            kubelet.wait_listed("example.com/seat")
            self.await_true(lambda: get(self.address, "/readyz") == (200, "ok\n"), "ready")
            kubelet.ask("stop")
            self.await_true(lambda: get(self.address, "/readyz")[0] == 503, "no longer ready")
            self.assertEqual(get(self.address, "/healthz")[0], 200)

    def test_rejects_unknown_host_headers(self):
        def status(*headers):
            request = "\r\n".join(["GET /metrics HTTP/1.1", *headers, "Connection: close", "", ""])
            return talk(self.address, request.encode()).split(b" ", 2)[1]

        for host in ("127.0.0.1:9478", "[::1]:9478", "10.0.0.9", "localhost:1", "patchbay.patchbay.svc"):
            self.assertEqual(status(f"Host: {host}"), b"200", host)
        for host in ("evil.example", "evil.example:9478", "127.0.0.1.evil.example"):
            self.assertEqual(status(f"Host: {host}"), b"421", host)
        answer = talk(self.address, b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        self.assertIn(b"add the name to hosts in [daemon]", answer)
        self.assertIn(b" 200 ", talk(self.address, b"GET /healthz HTTP/1.0\r\n\r\n"))

    def test_accepts_configured_hosts(self):
        config = self.dir / "named.toml"
        config.write_text('[daemon]\nhosts = "Patchbay.example"\n' + CONFIG)
        with Daemon(config, self.kubelet_dir) as daemon:
            answer = talk(daemon.address(), b"GET /healthz HTTP/1.0\r\nHost: patchbay.EXAMPLE\r\n\r\n")
        self.assertIn(b" 200 ", answer)

    def test_idle_connections_do_not_delay_requests(self):
        idle = [self.enterContext(connect(self.address)) for _ in range(40)]
        for client in idle[20:]:
            client.sendall(b"GET /metrics HT")  # half of a request
        for path in ("/healthz", "/metrics", "/"):
            self.assertEqual(get(self.address, path)[0], 200)
        for client in idle:  # none was closed
            client.setblocking(False)
            self.assertRaises(BlockingIOError, client.recv, 1)

    def test_handles_more_connections_than_the_limit(self):
        for _ in range(300):
            self.enterContext(connect(self.address))
        self.assert_alive()

    def test_rejects_malformed_requests(self):
        noise = random.Random(4711)
        pieces = [b"", b"\n", b"\r\n\r\n", b"\0" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                  b"GET /\xff\xfe HTTP/1.1\r\n\r\n", b"GET " + b"/a" * 100000 + b" HTTP/1.1\r\n\r\n",
                  b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100000 + b"\r\n",
                  b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                  b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
                  b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
                  b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
        pieces += [noise.randbytes(noise.randrange(1, 4000)) for _ in range(50)]
        for piece in pieces:
            answer = talk(self.address, piece)
            self.assertFalse(answer.startswith(b"HTTP/1.1 2"), piece[:60])
        self.assert_alive()

    def test_allows_only_get_and_head(self):
        for method in (b"POST", b"PUT", b"DELETE", b"OPTIONS", b"CONNECT", b"BREW"):
            answer = talk(self.address, method + b" /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertRegex(answer, rb"\AHTTP/1.1 4\d\d ", method)
        head = talk(self.address, b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertTrue(head.startswith(b"HTTP/1.1 200 "), head)
        self.assertTrue(head.endswith(b"\r\n\r\n"), head)

    def test_unknown_paths_return_404(self):
        for path in ("/nothing", "/metrics/", "/../etc/passwd", "/%2e%2e/etc/passwd", "//"):
            self.assertEqual(get(self.address, path)[0], 404, path)

    def test_handles_clients_that_never_read(self):
        request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200
        for _ in range(20):
            client = self.enterContext(connect(self.address))
            client.setblocking(False)
            try:
                client.send(request)
            except BlockingIOError:
                pass
        self.assert_alive()

    def test_closes_descriptors_of_disconnected_clients(self):
        def descriptors():
            return len(os.listdir(f"/proc/{self.daemon.process.pid}/fd"))
        # It serves HTTP before it opens its last descriptors.
        self.await_true(lambda: get(self.address, "/readyz")[1] != "starting\n", "started")
        before = descriptors()
        for _ in range(100):
            talk(self.address, b"GET /healthz HTTP/1.1\r\n\r\n")
            connect(self.address).close()
        self.await_true(lambda: descriptors() <= before + 2, "descriptors are closed")

    def test_stops_with_connected_clients(self):
        for _ in range(10):
            self.enterContext(connect(self.address)).sendall(b"GET /")
        code, seconds = self.daemon.end()
        self.assertEqual(code, 0)
        self.assertLess(seconds, 2)


if __name__ == "__main__":
    support.main()
