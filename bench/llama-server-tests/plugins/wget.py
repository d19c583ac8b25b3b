"""Stands in for the package `wget`: a download is a file of the folder ROCMFORGE_STAND_INS with the address's last name."""

import os
import shutil


def download(url, out):
    name = url.split("/")[-1]
    os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
    shutil.copyfile(os.path.join(os.environ["ROCMFORGE_STAND_INS"], name), out)
    return out
