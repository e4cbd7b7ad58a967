import ctypes, os, struct, subprocess, sys, time
