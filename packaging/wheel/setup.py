# SPDX-License-Identifier: MIT
"""Tags the wheel: it has programs, so it is of one platform, but it is for any Python 3. The rest
is in pyproject.toml, as build.py writes it."""
from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class Platform(Distribution):
    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(distclass=Platform, cmdclass={"bdist_wheel": Wheel})
