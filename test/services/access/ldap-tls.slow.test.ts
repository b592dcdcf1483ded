import fc from 'fast-check'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, expect } from 'vitest'
import { ldapConfigOf, ldapReaders } from '../../../config/ldap.ts'
import { parseProperties } from '../../../config/properties.ts'
import { ldapSource } from '../../../services/access/passwords/ldap.ts'
import { PasswordCheck, trustMs } from '../../../services/access/passwords/password-check.ts'
import { makeCertificates } from '../../support/certificates.ts'
import { testLog } from '../../support/platform.ts'
import { hasSlapd, ldapTest, manager, peopleBase, type Slapd, startSlapd } from '../../support/slapd.ts'

let slapd: Slapd
beforeAll(async () => {
  if (hasSlapd) slapd = await startSlapd([{ uid: 'ann', password: 'of ann' }])
})
afterAll(() => slapd?.[Symbol.asyncDispose]())

const right = { userName: 'ann', password: 'of ann' }

function sourceWith(properties: Record<string, string>) {
  const pattern = { 'user-dn-pattern': `uid={0},${peopleBase}` }
  const all = 'manager-dn' in properties ? properties : { ...pattern, ...properties }
  const lines = Object.entries(all).map(([key, value]) => `security.ldap.${key}=${value}`)
  return ldapSource(ldapConfigOf(parseProperties('test', lines.join('\n'), ldapReaders)), testLog)
}

const encrypted = () => [
  { url: slapd.tlsUrl },
  { url: slapd.tlsUrl.replace('127.0.0.1', 'localhost') },
  { url: slapd.url, 'start-tls': 'true' },
  { url: slapd.url.replace('127.0.0.1', 'localhost'), 'start-tls': 'true' },
]

ldapTest('a directory whose certificate the authority signed is asked', async () => {
  for (const way of encrypted()) {
    const source = sourceWith({ ...way, 'ca-file': slapd.certificates.ca })
    expect(await source.verify(right), way.url).toMatchObject({ subject: 'ann' })
    expect(await source.verify({ ...right, password: 'wrong' })).toBeUndefined()
  }
})

ldapTest('one of another authority, of the usual ones, or of another name is not', async () => {
  const other = makeCertificates(slapd.folder, 'other')
  for (const way of encrypted()) {
    for (const ca of [{ 'ca-file': other.ca }, {}]) {
      await expect(sourceWith({ ...way, ...ca }).verify(right)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    }
  }
  for (const way of encrypted().slice(0, 1)) {
    const elsewhere = { ...way, url: way.url.replace('127.0.0.1', '127.0.0.2') }
    const source = sourceWith({ ...elsewhere, 'ca-file': slapd.certificates.ca })
    await expect(source.verify(right)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  }
})

ldapTest('a directory that accepts and says nothing is given up', async () => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as { port: number }
  const open = new Set<{ destroy(): void }>()
  silent.on('connection', (socket) => open.add(socket))
  const quick = { 'connect-timeout-ms': '200', 'timeout-ms': '200' }
  for (const way of [{ url: `ldap://127.0.0.1:${port}` }, { url: `ldaps://127.0.0.1:${port}` }]) {
    await expect(sourceWith({ ...way, ...quick }).verify(right)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    })
  }
  for (const socket of open) socket.destroy()
  silent.close()
})

ldapTest('a password that was right is taken for a minute without the directory, and no longer', async () => {
  let now = 0
  const check = new PasswordCheck(sourceWith({ url: slapd.url }), () => now)
  const ask = (password = right.password, mayTrust = true) =>
    check.check({ ...right, password }, '192.0.2.1', mayTrust)
  expect(await ask()).toMatchObject({ subject: 'ann' })
  await slapd.stop()
  now = trustMs - 1
  expect(await ask()).toMatchObject({ subject: 'ann' })
  await expect(ask(right.password, false)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(await ask()).toMatchObject({ subject: 'ann' })
  await expect(ask('wrong')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  now = trustMs
  await expect(ask()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await slapd.start()
  expect(await ask()).toMatchObject({ subject: 'ann' })
})

ldapTest('no name but the own one comes in with a password, whatever is in it', async () => {
  const special = fc.constantFrom(
    'ann',
    '*',
    '(',
    ')',
    '|',
    '&',
    '!',
    '=',
    ',',
    '+',
    '\\',
    '"',
    '#',
    ';',
    ' ',
    '\0',
    '\n',
    'ü',
    '{0}',
  )
  const name = fc
    .array(fc.oneof(special, fc.string({ maxLength: 3 })), { maxLength: 8 })
    .map((parts) => parts.join(''))
  const bySearch = {
    'manager-dn': manager.dn,
    'manager-password': manager.password,
    'user-search-base': peopleBase,
  }
  const sources = [sourceWith({ url: slapd.url }), sourceWith({ url: slapd.url, ...bySearch })]
  await fc.assert(
    fc.asyncProperty(name, async (userName) => {
      // Directories see no difference in case, nor in blanks around a name.
      const isOwn = userName.normalize('NFKC').trim().toLowerCase() === 'ann'
      for (const source of sources) {
        const person = await source.verify({ ...right, userName })
        if (!isOwn) expect(person).toBeUndefined()
      }
    }),
    { numRuns: 200 },
  )
})
