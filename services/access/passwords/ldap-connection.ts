import { Client } from 'ldapts'
import { connect, isIP } from 'node:net'
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls'
import type { LdapConfig } from '../../../config/ldap.ts'

/** Works with a connection to the directory of its own, encrypted as configured, and closes it whatever happens. */
export async function withDirectory<T>(
  { url, startTls, ca, connectTimeoutMs, timeoutMs }: LdapConfig,
  work: (directory: Client) => Promise<T>,
): Promise<T> {
  const { protocol, hostname } = new URL(url)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const tls: ConnectionOptions = {
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
  }
  const directory = new Client({
    url,
    connectTimeout: connectTimeoutMs,
    timeout: timeoutMs,
    // With these it would encrypt ldap:// from the start too.
    ...(protocol === 'ldaps:' ? { tlsOptions: tls } : {}),
    createConnection: once(connect),
    createSecureConnection: once(connectTls, (socket) => limitHandshake(socket, connectTimeoutMs)),
  })
  try {
    if (startTls) await directory.startTLS(tls)
    return await work(directory)
  } finally {
    await directory.unbind().catch(() => undefined)
  }
}

/** The client would connect again by itself when it lost its connection: as nobody, and without the encryption. */
function once<A extends unknown[], S>(
  open: (...args: A) => S,
  prepare: (socket: S) => void = () => undefined,
) {
  let isOpened = false
  const openOnce = (...args: A): S => {
    if (isOpened) throw new Error('the connection to the directory was lost')
    isOpened = true
    const socket = open(...args)
    prepare(socket)
    return socket
  }
  // The functions of Node have several forms, of which TypeScript infers the last.
  return openOnce as unknown as typeof open & typeof connect & typeof connectTls
}

/** The client itself waits for ever for the handshake of StartTLS. */
function limitHandshake(socket: TLSSocket, timeoutMs: number): void {
  socket.setTimeout(timeoutMs, () => socket.destroy(new Error('the TLS handshake took too long')))
  socket.once('secureConnect', () => socket.setTimeout(0))
}
