import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

const sslRequest = 80_877_103;

/** A server that refuses each session with this SQLSTATE and message, as PostgreSQL does; returns its URL. */
export async function openRefusingPostgres(code: string, message: string) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (packet) => {
      if (packet.readInt32BE(4) === sslRequest) {
        socket.write('N');
        socket.once('data', () => refuse(socket));
      } else refuse(socket);
    });
  });
  const refuse = (socket: Socket) => socket.end(errorResponse(code, message));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { url: `postgres://user:secret@127.0.0.1:${port}/ledger`, close };
}

function errorResponse(code: string, message: string): Buffer {
  const fields = { S: 'FATAL', V: 'FATAL', C: code, M: message };
  const texts = Object.entries(fields).map(([field, value]) => `${field}${value}\0`);
  const body = Buffer.from(`${texts.join('')}\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
