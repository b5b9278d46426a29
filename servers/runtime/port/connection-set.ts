import type { Socket } from "node:net";

/** The connections of a port that have been handed to a protocol. */
export interface ConnectionSet {
  add(socket: Socket): void;
  /** Resolves once there is none. */
  whenEmpty(): Promise<void>;
  destroyAll(): void;
}

/** An empty set; connections leave it when they close. */
export function createConnectionSet(): ConnectionSet {
  const sockets = new Set<Socket>();
  let waiters: (() => void)[] = [];
  return {
    add(socket) {
      sockets.add(socket);
      socket.once("close", () => {
        sockets.delete(socket);
        if (sockets.size > 0) return;
        for (const wake of waiters) wake();
        waiters = [];
      });
    },
    whenEmpty() {
      return sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve));
    },
    destroyAll() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
