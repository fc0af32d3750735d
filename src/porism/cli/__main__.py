"""Run the command line: python -m porism.cli."""

import sys

from porism.cli import main

sys.exit(main())
