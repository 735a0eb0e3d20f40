# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium over its DevTools pipe, with the standard library only."""
import base64, json, os, shutil, subprocess, tempfile, time


class Browser:
    """One page of a browser that has no network."""

    def __init__(self, program, width=1280, height=900):
        self.folder = tempfile.mkdtemp(prefix="paceline-browser-")
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                 "--force-color-profile=srgb", "--disable-background-networking", "--disable-component-update",
                 "--disable-sync", "--no-first-run", "--font-render-hinting=none", "--remote-debugging-pipe",
                 f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "about:blank"]

        def pipes():  # the browser reads descriptor 3 and writes 4
            read, write = os.dup(to_read), os.dup(to_write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen([program, *flags], preexec_fn=pipes, close_fds=False,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.folder})
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.session, self.problems = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1,
                  uploadThroughput=-1)
        self.size(width, height)

    def close(self):
        os.close(self.write_end)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read_end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _next(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.read_end, 1 << 20)
            if not piece:
                raise RuntimeError("the browser ended")
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(message)
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(str([a.get("value", a.get("description")) for a in params["args"]]))
        elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file:", "data:", "about:")):
            self.problems.append("asked the network for " + params["request"]["url"])
        return message

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write_end, json.dumps(request).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message.get("result", {})

    def size(self, width, height, scale=1.0):
        """Of the page, and of a pixel of pictures over one of it."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, path, limit=60):
        """Seconds until the report stands."""
        began = time.monotonic()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while time.monotonic() - began < limit:
            if self.value("document.readyState === 'complete' && Boolean(window.paceline && window.paceline.ready)"):
                return time.monotonic() - began
            time.sleep(0.02)
        raise RuntimeError(f"{path} is not ready after {limit} s: {self.problems}")

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def settle(self):
        """Two frames: what was asked to be drawn is."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def click(self, selector):
        x, y = self.value(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center', behavior: 'instant'}});"
                          " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        self.click_at(x, y)

    def click_at(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left", clickCount=0 if kind == "mouseMoved" else 1)
        self.settle()

    def screenshot(self, whole=False):
        """PNG bytes of what is in view, or of the whole page."""
        clip = {}
        if whole:
            box = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"captureBeyondViewport": True,
                    "clip": {"x": 0, "y": 0, "width": box["width"], "height": box["height"], "scale": 1}}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **clip)["data"])
