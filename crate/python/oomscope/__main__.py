"""``python -m oomscope`` is the program ``oomscope`` of this very environment."""

import os
import subprocess
import sys
import sysconfig


def main() -> int:
    name = "oomscope" + (sysconfig.get_config_var("EXE") or "")
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    for folder in folders:
        program = os.path.join(folder, name)
        if os.path.exists(program):
            return subprocess.run([program, *sys.argv[1:]]).returncode
    print(
        f"oomscope: the program is not in {folders[0]}; install it with: pip install --force-reinstall oomscope",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
