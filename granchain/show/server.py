"""Server of the interactive page, for the browsers of this computer only."""

from __future__ import annotations

import asyncio
import secrets
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.resources import Resources
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets
from tornado.web import ErrorHandler

from granchain.case import Case
from granchain.errors import CaseError
from granchain.show.page import Page

if TYPE_CHECKING:
    from granchain.measured import Trace
    from granchain.store import Result

# Only programs on this computer can connect.
ADDRESS = "127.0.0.1"


class LocalApplication(BokehTornado):
    """Bokeh's application, for requests of pages that it served itself."""

    hosts: frozenset[str] = frozenset()
    route = ""

    def find_handler(self, request: Any, **more: Any) -> Any:
        """Refuse requests with a foreign host, a foreign origin, or another path."""
        if self.permits(request):
            return super().find_handler(request, **more)
        return self.get_handler_delegate(request, ErrorHandler, {"status_code": 403})

    def resources(self, absolute_url: str | bool | None = None) -> Resources:
        """Return the scripts that the page uses. The others take longer than these to load."""
        return super().resources(absolute_url).clone(components=["bokeh", "bokeh-widgets"])

    def permits(self, request: Any) -> bool:
        """Check host, origin, and path. A web socket must have an origin."""
        path, origin = request.path, request.headers.get("Origin")
        live = path == f"{self.route}/ws"
        return (
            request.headers.get("Host", "") in self.hosts
            and (
                (origin is None and not live) or origin in {f"http://{host}" for host in self.hosts}
            )
            and (live or path == self.route or path.startswith("/static/"))
        )


class Explorer:
    """Server of the interactive page.

    Attributes
    ----------
    url : str
        Address of the page. It contains a random string, so that others cannot guess it.
    case : Case
        Case of the last run that the page showed.
    result : Result or None
        Result of that run.
    """

    def __init__(self, case: Case, source: str, trace: Trace | None, port: int):
        self.base = self.case = case
        self.source, self.trace, self.folder = source, trace, Path.cwd()
        self.result: Result | None = None
        self.executor = ThreadPoolExecutor(1, "granchain explorer")
        # Numba takes half a second to load: meanwhile, the browser starts.
        self.executor.submit(import_module, "granchain.simulation")
        try:
            sockets = bind_sockets(port, ADDRESS)
        except OSError as error:
            raise CaseError(
                f"port: {port} cannot be used ({error.strerror}). Choose another port, or leave it "
                "out."
            ) from None
        # The small messages of a change are not delayed; accepted connections inherit this.
        sockets[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        number = sockets[0].getsockname()[1]
        route = f"/{secrets.token_urlsafe(12)}"
        self.url = f"http://{ADDRESS}:{number}{route}"
        self._started, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(
            target=self._serve, args=(sockets, number, route), name="granchain server", daemon=True
        )
        self._thread.start()
        self._started.wait()

    def _serve(self, sockets: list[Any], port: int, route: str) -> None:
        """Serve the page until the loop of its thread is stopped."""
        asyncio.set_event_loop(asyncio.new_event_loop())
        self._loop = IOLoop.current()
        hosts = [f"{ADDRESS}:{port}", f"localhost:{port}"]
        page = Application(FunctionHandler(partial(Page, self)))
        application = LocalApplication({route: page}, extra_websocket_origins=hosts)
        application.hosts, application.route = frozenset(hosts), route
        http = HTTPServer(application)
        http.add_sockets(sockets)
        server = BaseServer(self._loop, application, http)
        server.start()
        self._loop.add_callback(self._started.set)
        self._loop.start()
        server.stop()
        self._ended.set()

    def wait(self) -> None:
        """Wait until the server is stopped."""
        # A signal that arrives just before a wait is handled at its end, so a wait is short.
        while not self._ended.wait(1.0):
            pass

    def stop(self) -> None:
        """Stop the server."""
        self._loop.add_callback(self._loop.stop)
        self._ended.wait()
        self.executor.shutdown(cancel_futures=True)

    def _repr_html_(self) -> str:
        """Return the page for a notebook."""
        return (
            f'<iframe src="{self.url}" width="100%" height="900" style="border:0" '
            'allow="clipboard-write" title="granchain explorer"></iframe>'
        )
