"""python -m pip"""

from pip import main

main()
