"""The application: access to it, its page and its files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from acdnet.viewer.app import NOTICE, make_app
from tests.viewer.server import API, PORT, TOKEN, client_of


@pytest.fixture(scope="module")
def page(reduced: Path) -> Iterator[TestClient]:
    with client_of({"result": reduced}) as client:
        yield client


def test_f54_no_token_no_page_and_no_other_host(page: TestClient) -> None:
    for path in ("/", "/wrong/", f"/{TOKEN[:-1]}/", "/api/start", f"/x{TOKEN}/api/start"):
        assert page.get(path).status_code == 403
    assert page.get(f"/{TOKEN}/").status_code == 200
    assert page.get(f"/{TOKEN}/", headers={"host": "evil.example"}).status_code == 403
    assert page.get(f"/{TOKEN}/", headers={"host": f"evil.example:{PORT}"}).status_code == 403
    foreign = {"host": f"127.0.0.1:{PORT}", "origin": "http://evil.example"}
    assert page.get(f"/{TOKEN}/", headers=foreign).status_code == 403


def test_browsers_do_not_name_the_usual_port() -> None:
    for port, host, code in ((80, "127.0.0.1", 200), (80, "localhost:80", 200), (8123, "127.0.0.1", 403)):
        with TestClient(make_app(TOKEN, {}, port=port), base_url=f"http://127.0.0.1:{port}") as client:
            assert client.get(f"{API}/start", headers={"host": host}).status_code == code
            origin = {"host": f"127.0.0.1:{port}", "origin": f"http://{host}"}
            assert client.get(f"{API}/start", headers=origin).status_code == code


def test_f54_the_notice_is_on_the_page(page: TestClient) -> None:
    assert NOTICE in page.get(f"/{TOKEN}/").text
    assert page.get(f"{API}/start").json()["notice"] == NOTICE
    assert "frame-ancestors 'none'" in page.get(f"/{TOKEN}/").headers["content-security-policy"]


def test_only_our_files_are_handed_out(page: TestClient) -> None:
    assert page.get(f"/{TOKEN}/static/app.js").status_code == 200
    for name in ("nothing.js", "..%2fapp.py", "%2e%2e%2fapp.py"):
        assert page.get(f"/{TOKEN}/static/{name}").status_code in (400, 404)
    assert "://" not in page.get(f"/{TOKEN}/").text.replace("http://www.w3.org", "")  # nothing is fetched elsewhere
