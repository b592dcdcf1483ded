import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Paths of PEM files. */
export interface Certificates {
  readonly ca: string
  /** Of a server on 127.0.0.1 and localhost, signed by the authority. */
  readonly certificate: string
  readonly key: string
}

/** Why no certificates can be made here; undefined where they can. */
export const noCertificates =
  spawnSync('openssl', ['version']).status === 0 ? undefined : 'there is no openssl: install openssl'

/** Makes a certificate authority and a server's certificate in a folder. */
export function makeCertificates(folder: string, name = 'test'): Certificates {
  const path = (file: string) => join(folder, `${name}-${file}`)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc']
  const [ca, caKey] = [path('ca.pem'), path('ca-key.pem')]
  openssl('req', '-x509', ...curve, '-subj', `/CN=${name} CA`, '-days', '2', '-out', ca, '-keyout', caKey)
  const [request, key, certificate] = [path('request.pem'), path('key.pem'), path('certificate.pem')]
  openssl('req', ...curve, '-subj', '/CN=localhost', '-out', request, '-keyout', key)
  writeFileSync(path('extensions'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n')
  const signing = ['-CA', ca, '-CAkey', caKey, '-days', '2', '-extfile', path('extensions')]
  openssl('x509', '-req', '-in', request, ...signing, '-out', certificate)
  return { ca, certificate, key }
}
