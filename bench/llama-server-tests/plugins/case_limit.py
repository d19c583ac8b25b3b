"""A pytest plugin: a case that takes longer than ROCMFORGE_CASE_SECONDS fails."""

import os
import signal

import pytest


def _late(_signal, _frame):
    raise TimeoutError("the case took too long")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(int(os.environ["ROCMFORGE_CASE_SECONDS"]))
    yield
    signal.alarm(0)
