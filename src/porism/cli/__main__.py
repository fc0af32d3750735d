import sys

from porism.cli import main

sys.exit(main())
