import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Duplex, PassThrough } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import { requiredTool } from "../../test/required-tool.js";
import { temporaryFolder } from "../../test/temporary-folder.js";
import { buildAgent } from "../agent/build-agent.js";
import { BoxCommand, type CommandEvent, type CommandExit, type CommandSpec } from "./box-command.js";
import { BoxFiles } from "./box-files.js";
import { BoxLink } from "./box-link.js";
import { frameHead, frameType } from "./frame.js";
import { PayloadWriter } from "./payload.js";

const agent = requiredTool(
  "A C compiler",
  () => buildAgent(join(import.meta.dirname, "../../.cache/sandbox")),
  "apt-get install gcc",
);
beforeEach((context) => void agent.need(context));

const spawnAgent = () => {
  const path = agent.need({
    skip() {
      throw new Error("no agent");
    },
  });
  return spawn(path, [], { stdio: ["pipe", "pipe", "inherit"] });
};

/** A box agent as a plain process, and the link to it: no isolation, but the real program over a real stream. */
function box() {
  const child = spawnAgent();
  const link = new BoxLink(Duplex.from({ readable: child.stdout, writable: child.stdin }));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return {
    child,
    link,
    files: new BoxFiles(link),
    ended,
    async [Symbol.asyncDispose]() {
      link.stop();
      await ended;
    },
  };
}

const base = {
  env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
  cwd: "/",
  ringBytes: 1 << 20,
  graceMs: 100,
  hold: true,
} satisfies Partial<CommandSpec>;

interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit: CommandExit | undefined;
  readonly events: readonly CommandEvent[];
}

async function read(command: BoxCommand): Promise<Ran> {
  const events: CommandEvent[] = [];
  for await (const event of command.read()) events.push(event);
  const of = (stream: "stdout" | "stderr"): string =>
    Buffer.concat(
      events.flatMap((event) => (event.kind === "output" && event.stream === stream ? [event.data] : [])),
    ).toString("latin1");
  const last = events.at(-1);
  return {
    stdout: of("stdout"),
    stderr: of("stderr"),
    exit: last?.kind === "exit" ? last.exit : undefined,
    events,
  };
}

async function run(link: BoxLink, argv: readonly string[], more: Partial<CommandSpec> = {}): Promise<Ran> {
  return await read(BoxCommand.start(link, { ...base, argv, ...more }));
}

/** Whether a process with these words in its command line runs. */
const alive = (words: string): boolean =>
  readdirSync("/proc").some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ").includes(words);
    } catch {
      return false;
    }
  });

describe("commands in a box", () => {
  it("gives every byte of both streams apart, the last line without a newline, and the code", async () => {
    await using b = box();
    expect(await b.link.hello).toMatchObject({ uid: process.getuid?.(), gid: process.getgid?.() });
    const { stdout, stderr, exit } = await run(b.link, ["sh", "-c", "cat; printf last >&2; exit 7"], {
      stdin: Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
    });
    expect(Buffer.from(stdout, "latin1")).toEqual(Buffer.from(Array.from({ length: 256 }, (_, i) => i)));
    expect(stderr).toBe("last");
    expect(exit).toMatchObject({
      reason: "exited",
      status: { code: 7 },
      written: { stdout: 256n, stderr: 4n },
      leftover: 0,
    });
  });

  it("runs argv as it is: no shell reads it", async () => {
    await using b = box();
    const argv = ["printf", "%s|", "$HOME", "a b", "; true", 'q"\n'];
    expect((await run(b.link, argv)).stdout).toBe('$HOME|a b|; true|q"\n|');
  });

  it("tells what cannot be started by its error", async () => {
    await using b = box();
    await expect(run(b.link, ["no-such-program"])).rejects.toMatchObject({ code: "ENOENT" });
    await expect(run(b.link, ["true"], { cwd: "/no/such/folder" })).rejects.toMatchObject({ code: "ENOENT" });
    await expect(run(b.link, ["true"], { user: "nobody-of-this-name" })).rejects.toMatchObject({
      code: "ENOENT",
    });
    await expect(run(b.link, ["/"])).rejects.toMatchObject({ code: "EACCES" });
  });

  it("gives nothing of the host's environment, and no standard input where none is given", async () => {
    await using b = box();
    const { stdout } = await run(b.link, ["env"], { env: { ...base.env, A: "1" } });
    expect(
      stdout
        .trim()
        .split("\n")
        .filter((line) => !/^(PWD|SHLVL|_)=/.test(line))
        .toSorted(),
    ).toEqual(["A=1", `PATH=${base.env.PATH}`]);
    expect((await run(b.link, ["cat"])).exit?.status).toEqual({ code: 0 });
  });

  it("tells death by a signal apart from a timeout, and a timeout by whatever is left of the tree", async () => {
    await using b = box();
    const killed = await run(b.link, ["sh", "-c", "kill -9 $$"], { timeoutMs: 60_000 });
    expect(killed.exit).toMatchObject({ reason: "signalled", status: { signal: 9 } });
    const marker = `3${process.pid}`;
    const late = await run(
      b.link,
      [
        "sh",
        "-c",
        `echo begun; (setsid sh -c 'trap "" TERM; sleep ${marker}' &); env -i /bin/sleep ${marker} & wait`,
      ],
      { timeoutMs: 300 },
    );
    expect(late).toMatchObject({ stdout: "begun\n", exit: { reason: "timeout", leftover: 0 } });
    expect(alive(`sleep ${marker}`)).toBe(false);
  });

  it("does not wait for children in the background, counts them, and ends them when it is told to", async () => {
    await using b = box();
    const marker = `4${process.pid}`;
    const command = BoxCommand.start(b.link, {
      ...base,
      argv: ["sh", "-c", `sleep ${marker} & (setsid sleep ${marker} &); echo done`],
    });
    expect(await read(command)).toMatchObject({ stdout: "done\n", exit: { reason: "exited", leftover: 2 } });
    expect(alive(`sleep ${marker}`)).toBe(true);
    expect(await command.kill(0)).toBe(2);
    expect(alive(`sleep ${marker}`)).toBe(false);
    await command.release();
    await expect(command.release()).rejects.toMatchObject({ code: "ESRCH" });
  });

  it("keeps to its cap: the first bytes, the last ones, or the command's end", async () => {
    await using b = box();
    const argv = ["sh", "-c", "seq 1 20000"];
    const whole = (await run(b.link, argv)).stdout;
    const head = await run(b.link, argv, { output: { maxBytes: 1000, above: "keep-head" } });
    expect(head.stdout).toBe(whole.slice(0, 1000));
    expect(head.exit).toMatchObject({ stdoutTruncated: true, written: { stdout: BigInt(whole.length) } });
    const exact = await run(b.link, argv, { output: { maxBytes: whole.length, above: "keep-head" } });
    expect(exact.exit).toMatchObject({ stdoutTruncated: false });
    const tail = BoxCommand.start(b.link, {
      ...base,
      argv,
      hold: false,
      output: { maxBytes: 1000, above: "keep-tail" },
    });
    await tail.started;
    await expect.poll(async () => (await read(tail)).stdout.slice(-10)).toBe(whole.slice(-10));
    expect((await read(tail)).stdout).toBe(whole.slice(-1000));
    const ended = await run(b.link, ["yes"], { output: { maxBytes: 10_000, above: "kill" } });
    expect(ended).toMatchObject({ exit: { reason: "output-limit", stdoutTruncated: true } });
    expect(ended.stdout).toHaveLength(10_000);
  });

  it("gives the rest from any offset, also after the end, and tells what is no longer kept", async () => {
    await using b = box();
    const command = BoxCommand.start(b.link, {
      ...base,
      hold: false,
      ringBytes: 4096,
      argv: ["sh", "-c", "seq 1 5000"],
    });
    await read(command);
    const events: CommandEvent[] = [];
    for await (const event of command.read({ stdout: 0n, stderr: 0n })) events.push(event);
    const total = 23_893n;
    expect(events[0]).toEqual({ kind: "gap", until: { stdout: total - 4096n, stderr: 0n } });
    const rest: CommandEvent[] = [];
    for await (const event of command.read({ stdout: total - 5n, stderr: 0n })) rest.push(event);
    expect(rest[0]).toMatchObject({ kind: "output", offset: total - 5n, data: Buffer.from("5000\n") });
  });

  it("lets a slow reader hold up its own command only", async () => {
    await using b = box();
    const flood = BoxCommand.start(b.link, { ...base, argv: ["yes"] });
    const slow = flood.read()[Symbol.asyncIterator]();
    await slow.next();
    expect((await run(b.link, ["echo", "meanwhile"])).stdout).toBe("meanwhile\n");
    await slow.return(undefined);
    await flood.kill(0);
  });

  it("has a terminal of the size that is asked, and another one when it is told", async () => {
    await using b = box();
    const command = BoxCommand.start(b.link, {
      ...base,
      argv: ["sh", "-c", "stty size; read line; stty size; echo err >&2"],
      tty: { columns: 100, rows: 33 },
      keepStdinOpen: true,
    });
    await command.started;
    await command.resize({ columns: 80, rows: 24 });
    await command.writeStdin(Buffer.from("go\n"));
    const { stdout, stderr } = await read(command);
    expect(stdout).toMatch(/(33 100|24 80)\r\n(.*\r\n)*24 80\r\nerr\r\n/);
    expect(stderr).toBe("");
  });

  it("takes ten megabytes of standard input, and their end", async () => {
    await using b = box();
    const command = BoxCommand.start(b.link, { ...base, argv: ["wc", "-c"], keepStdinOpen: true });
    const bytes = Buffer.alloc(10_000_000, 1);
    const [{ taken }, { stdout }] = await Promise.all([command.writeStdin(bytes, true), read(command)]);
    expect([taken, stdout.trim()]).toEqual([bytes.length, String(bytes.length)]);
    expect(await command.writeStdin(Buffer.from("more"))).toEqual({ taken: 0, closed: true });
  });

  it("leaves nothing alive when its stream ends, or its lease", async () => {
    const marker = `5${process.pid}`;
    for (const end of ["stream", "lease"] as const) {
      const b = box();
      const command = BoxCommand.start(b.link, { ...base, argv: ["sh", "-c", `setsid sleep ${marker}`] });
      await command.started;
      if (end === "stream") b.link.close(new Error("the server died"));
      else b.link.lease(50);
      await b.ended;
      expect(alive(`sleep ${marker}`)).toBe(false);
    }
  });
});

describe("files of a box", () => {
  const bounds = { maxBytes: 100_000_000, maxEntries: 1000 };

  it("writes whole or not at all, and reads what was written", async () => {
    await using b = box();
    const folder = temporaryFolder({});
    const path = join(folder, "new/deep/a b.bin");
    const bytes = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => i % 251));
    expect(
      await b.files.write(path, [bytes.subarray(0, 7), bytes.subarray(7)], { mode: 0o640 }),
    ).toMatchObject({
      kind: "file",
      mode: 0o640,
      size: 3_000_000n,
    });
    const { content } = await b.files.read(path, { maxBytes: 3_000_000 });
    const got: Buffer[] = [];
    for await (const piece of content) got.push(piece);
    expect(Buffer.concat(got).equals(bytes)).toBe(true);
    const broken = async function* () {
      yield Buffer.from("half");
      throw new Error("the caller broke");
    };
    await expect(b.files.write(path, broken())).rejects.toThrow("the caller broke");
    expect(readFileSync(path).equals(bytes)).toBe(true);
    await expect.poll(() => readdirSync(join(folder, "new/deep"))).toEqual(["a b.bin"]);
  });

  it("tells missing, directory, too large and what would block apart", async () => {
    await using b = box();
    const folder = temporaryFolder({ file: "12345" });
    await run(b.link, ["mkfifo", join(folder, "fifo")]);
    const code = (path: string, maxBytes = 10) =>
      b.files.read(path, { maxBytes }).then(String, (error) => error.code);
    expect(
      await Promise.all([
        code(join(folder, "none")),
        code(folder),
        code(join(folder, "file"), 4),
        code(join(folder, "fifo")),
        code("/dev/zero"),
      ]),
    ).toEqual(["ENOENT", "EISDIR", "EFBIG", "EINVAL", "EINVAL"]);
  });

  it("lists names as bytes, in order, with what they are", async () => {
    await using b = box();
    const folder = temporaryFolder({ b: "1" });
    mkdirSync(join(folder, "a"));
    symlinkSync("b", join(folder, "c"));
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]), "");
    const entries = [];
    for await (const { kind, name, linkTarget } of b.files.list(folder))
      entries.push([kind, name.toString("latin1"), linkTarget.toString()]);
    expect(entries).toEqual([
      ["directory", "a", ""],
      ["file", "b", ""],
      ["symlink", "c", "b"],
      ["file", "\u00ff", ""],
    ]);
  });

  it("makes, moves and removes, and says what was there", async () => {
    await using b = box();
    const folder = temporaryFolder({ file: "x" });
    const at = (name: string) => join(folder, name);
    expect([await b.files.makeDirectory(at("d/e")), await b.files.makeDirectory(at("d/e"))]).toEqual([
      false,
      true,
    ]);
    await b.files.move(at("file"), at("d/e/f"));
    await expect(b.files.move(at("file"), at("g"))).rejects.toMatchObject({ code: "ENOENT" });
    await expect(b.files.remove(at("d"))).rejects.toMatchObject({ code: "ENOTEMPTY" });
    expect([await b.files.remove(at("d"), true), await b.files.remove(at("d"), true)]).toEqual([false, true]);
    expect(existsSync(at("d"))).toBe(false);
  });

  it("packs a tree and unpacks it as it was", async () => {
    await using b = box();
    const folder = temporaryFolder({});
    const tree = join(folder, "tree");
    await run(b.link, [
      "sh",
      "-c",
      `mkdir -p ${tree}/empty ${tree}/$(printf 'd%.0s' $(seq 150)); cd ${tree}; echo ä > 'ü n'; ln -s 'ü n' link; chmod 751 empty; cd d*; echo deep > x`,
    ]);
    const tar: Buffer[] = [];
    for await (const piece of await b.files.pack(tree, bounds)) tar.push(piece);
    const copy = join(folder, "copy");
    expect(await b.files.unpack(copy, tar, bounds)).toEqual({ entries: 5n, bytes: 8n });
    const listing = (of: string) =>
      run(b.link, [
        "sh",
        "-c",
        `cd ${of}; find . -printf '%p %y %m %l %s\\n' | grep -v ' d ' | sort; find . -type d -printf '%p %m\\n' | sort`,
      ]);
    expect((await listing(copy)).stdout).toBe((await listing(tree)).stdout);
    // The real tar reads it too.
    writeFileSync(join(folder, "t.tar"), Buffer.concat(tar));
    expect((await run(b.link, ["tar", "-tf", join(folder, "t.tar")])).stdout).toContain("empty/");
  });

  it.each([
    ["a name above", "ln -s x a; tar -cf - --transform 's,^a,../a,' -P a", "EXDEV"],
    ["an absolute name", 'touch a; tar -cPf - --transform "s,^a,$PWD/outside/abs," a', "EXDEV"],
    [
      "a way through a link",
      "mkdir d; ln -s $PWD/outside l; touch d/x; tar -cf t l; tar -rf t --transform 's,^d,l,' d/x; cat t",
      "EXDEV",
    ],
    ["a FIFO", "mkfifo p; tar -cf - p", "EPERM"],
    ["something else", "echo this is no tar, and long enough; head -c 2000 /dev/zero", "EINVAL"],
  ])("refuses %s in a tar, and writes nothing outside", async (_what, script, code) => {
    await using b = box();
    const folder = temporaryFolder({});
    mkdirSync(join(folder, "outside"));
    const made = await run(b.link, ["sh", "-c", script], { cwd: folder });
    const target = join(folder, "into/here");
    const unpacking = b.files.unpack(target, [Buffer.from(made.stdout, "latin1")], bounds);
    await expect(unpacking).rejects.toMatchObject({ code });
    expect([readdirSync(join(folder, "outside")), existsSync(join(folder, "into/a"))]).toEqual([[], false]);
  });

  it("counts logical bytes and entries: a sparse file does not pass its bound", async () => {
    await using b = box();
    const folder = temporaryFolder({});
    await run(b.link, ["truncate", "-s", "1G", join(folder, "sparse")]);
    const reading = async (maxEntries: number, maxBytes: number) => {
      for await (const _ of await b.files.pack(folder, { maxEntries, maxBytes }));
    };
    await expect(reading(10, 10_000_000)).rejects.toMatchObject({ code: "EFBIG" });
    writeFileSync(join(folder, "sparse"), "");
    writeFileSync(join(folder, "two"), "");
    await expect(reading(1, 10)).rejects.toMatchObject({ code: "EFBIG" });
  });
});

describe("ports of a box", () => {
  it("serves connections to a port inside, many at once, half-closed too", async () => {
    await using b = box();
    const { port, close } = await b.link.listen(0, (connection) => {
      void (async () => {
        for await (const { type, payload } of connection.frames()) {
          if (type === frameType.data) await connection.write(payload);
          else connection.commit();
        }
      })();
    });
    const client = `exec 3<>/dev/tcp/127.0.0.1/${port}; head -c 300000 /dev/zero >&3 & head -c 300000 <&3 | wc -c`;
    const counts = await Promise.all(
      Array.from({ length: 10 }, async () => (await run(b.link, ["bash", "-c", client])).stdout.trim()),
    );
    expect(counts).toEqual(Array.from({ length: 10 }, () => "300000"));
    await expect(b.link.listen(port, () => {})).rejects.toMatchObject({ code: "EADDRINUSE" });
    close();
    await expect
      .poll(
        async () => (await run(b.link, ["bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/${port}`])).exit?.status,
      )
      .toEqual({ code: 1 });
  });
});

describe("what cannot be said to a box", () => {
  it("is refused before it is sent, and the box lives on", async () => {
    await using b = box();
    await b.link.hello;
    const long = "x".repeat(70_000);
    await expect(b.files.stat("relative")).rejects.toMatchObject({ code: "EINVAL" });
    await expect(b.files.stat("/a\0b")).rejects.toMatchObject({ code: "EINVAL" });
    await expect(b.files.stat(`/${long}`)).rejects.toMatchObject({ code: "E2BIG" });
    await expect(run(b.link, ["echo", "a\0b"])).rejects.toMatchObject({ code: "EINVAL" });
    await expect(run(b.link, ["true"], { cwd: "here" })).rejects.toMatchObject({ code: "EINVAL" });
    await expect(run(b.link, ["true", long.repeat(80)])).rejects.toMatchObject({ code: "E2BIG" });
    expect((await run(b.link, ["echo", "alive"])).stdout).toBe("alive\n");
  });
});

describe("a box that breaks the protocol", () => {
  const hello = Buffer.concat([
    frameHead(frameType.hello, 0, 19),
    Buffer.from("TSBX"),
    new PayloadWriter().u16(1).u32(0).u32(0).text("/").done(),
  ]);
  it.each([
    ["another program", Buffer.from("Welcome to the shell of this image")],
    [
      "another version",
      Buffer.concat([
        frameHead(frameType.hello, 0, 6),
        Buffer.from("TSBX"),
        new PayloadWriter().u16(2).done(),
      ]),
    ],
    ["a frame that is too large", Buffer.concat([hello, frameHead(frameType.data, 1, 70_000)])],
    [
      "a reply that nobody asked for",
      Buffer.concat([hello, frameHead(frameType.reply, 7, 4), Buffer.alloc(4)]),
    ],
    [
      "data on a channel that never was",
      Buffer.concat([hello, frameHead(frameType.data, 9, 1), Buffer.from("x")]),
    ],
    ["a reply that is cut", Buffer.concat([hello, frameHead(frameType.reply, 1, 0)])],
    ["an unknown type", Buffer.concat([hello, frameHead(0x99 as never, 1, 0)])],
  ])("ends its link, and everything that waits: %s", async (_what, bytes) => {
    const stream = new PassThrough();
    const link = new BoxLink(Duplex.from({ readable: stream, writable: new PassThrough() }));
    const waiting = link.request(frameType.ping, Buffer.alloc(0));
    waiting.catch(() => {});
    stream.write(bytes);
    expect(await link.ended).toBeInstanceOf(Error);
    await expect(waiting).rejects.toBeInstanceOf(Error);
  });
});

describe("a host that breaks the protocol", () => {
  it.each([
    ["an unknown type", frameHead(0x7f as never, 1, 0)],
    ["a frame that is too large", frameHead(frameType.data, 1, 70_000)],
    ["data on a channel that never was", Buffer.concat([frameHead(frameType.data, 9, 1), Buffer.from("x")])],
    ["a number again", Buffer.concat([frameHead(frameType.ping, 5, 0), frameHead(frameType.ping, 5, 0)])],
    ["a request that is cut", frameHead(frameType.exec, 1, 0)],
    [
      "a text that is longer than its frame",
      Buffer.concat([frameHead(frameType.list, 1, 4), new PayloadWriter().u32(99).done()]),
    ],
  ])("loses its box: %s", async (_what, bytes) => {
    const child = spawnAgent();
    child.stdin.on("error", () => {});
    child.stdin.write(bytes);
    const code = await new Promise((resolve) => child.once("exit", resolve));
    expect(code).toBe(0);
  });
});
