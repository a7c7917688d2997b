// What a hostile Node function would try. One attempt per start: `attempts.cjs NAME`. Says `escaped` or `denied`.
"use strict";

const childProcess = require("node:child_process");
const dgram = require("node:dgram");
const fs = require("node:fs");
const net = require("node:net");
const { Worker } = require("node:worker_threads");

const targets = JSON.parse(process.env.TARGETS);

function connected(options) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(options);
    socket.setTimeout(2000, () => reject(new Error("nobody answers")));
    socket.once("error", reject);
    socket.once("connect", () => resolve(socket.destroy()));
  });
}

function written(path) {
  fs.writeFileSync(path, "here");
  fs.unlinkSync(path);
}

const attempts = {
  read_token: () => fs.readFileSync(targets.token),
  read_shadow: () => fs.readFileSync("/etc/shadow"),
  read_token_through_own_root: () => fs.readFileSync(`/proc/self/root${targets.token}`),
  list_other_code: () => fs.readdirSync(targets.other_code),
  list_code_store: () => fs.readdirSync("/code"),
  list_other_data: () => fs.readdirSync(targets.data),
  read_other_environment: () => fs.readFileSync(`/proc/${targets.decoy}/environ`),
  read_first_environment: () => {
    if (fs.readFileSync("/proc/1/environ").length === 0) throw new Error("nothing there");
  },
  signal_other: () => process.kill(targets.decoy, "SIGCONT"),
  signal_server: () => process.kill(targets.server, 0),
  debug_other: () => fs.openSync(`/proc/${targets.decoy}/mem`, "r+"),
  control_port: () => connected({ host: "127.0.0.1", port: targets.port }),
  control_port_by_host_address: () => connected({ host: targets.address, port: targets.port }),
  abstract_socket: () => connected({ path: `\0${targets.abstract}` }),
  named_socket: () => connected({ path: targets.socket }),
  send_udp: () =>
    new Promise((resolve, reject) => {
      const socket = dgram.createSocket("udp4");
      const timer = setTimeout(() => reject(new Error("nobody answers")), 2000);
      socket.once("error", reject);
      socket.once("message", () => resolve(clearTimeout(timer)));
      socket.send("ask", targets.udp, "127.0.0.1", (error) => error && reject(error));
    }),
  write_code: () => fs.appendFileSync(targets.own_code, "\n"),
  write_outside: () => written(`${targets.outside}/planted-${process.pid}`),
  write_programs: () => written(`/usr/planted-${process.pid}`),
  become_root: () => process.setuid(0),
  dump_core: () => childProcess.execFileSync("/bin/sh", ["-c", "ulimit -c 1024"], { stdio: "ignore" }),
  fill_disk: () => {
    const paths = [0, 1, 2, 3, 4, 5].map((number) => `/tmp/fill-${process.pid}-${number}`);
    try {
      for (const path of paths) fs.writeFileSync(path, Buffer.alloc(targets.tmp_bytes / 4));
    } finally {
      for (const path of paths) fs.rmSync(path, { force: true });
    }
  },
  fork_bomb: async () => {
    const children = [];
    try {
      for (let number = 0; number < targets.processes_max * 2; number += 1) {
        const child = childProcess.spawn("/bin/sleep", ["30"], { stdio: "ignore" });
        children.push(child);
        await new Promise((resolve, reject) => {
          child.once("spawn", resolve);
          child.once("error", reject);
        });
      }
    } finally {
      for (const child of children) child.kill("SIGKILL");
    }
  },
  thread_bomb: async () => {
    for (let number = 0; number < targets.processes_max; number += 1) {
      const worker = new Worker("setInterval(() => {}, 1000)", { eval: true });
      await new Promise((resolve, reject) => {
        worker.once("online", resolve);
        worker.once("error", reject);
        worker.once("exit", () => reject(new Error("it ended")));
      });
    }
  },
  memory_bomb: () => Buffer.alloc(targets.memory_bytes + 256 * 1024 * 1024, 1),
  descriptor_bomb: () => {
    for (let number = 0; number < 1500; number += 1) fs.openSync("/dev/null", "r");
  },
};

(async () => {
  let said = "escaped";
  try {
    await attempts[process.argv[2]]();
  } catch (error) {
    said = `denied: ${error.message}`;
  }
  fs.writeSync(1, `${said}\n`);
  process.exit(0);
})();
