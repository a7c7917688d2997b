from flask import request


def main():
    return "welcome, " + request.args.get("name", "stranger") + "\n"
