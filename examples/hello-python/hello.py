from flask import request


def main():
    return "hello, %s\n" % request.args.get("name", "world")
