import { expect, test } from 'vitest'
import { readAll } from '../../config/config-error.ts'
import { parseProperties, trueOrFalse, wholeNumber } from '../../config/properties.ts'
import { configProblems } from '../support/config-problems.ts'

const readers = { 'server.port': wholeNumber('a port number', 1, 65_535), 'security.enabled': trueOrFalse }

const read = (text: string) => parseProperties('some.properties', text, readers)

test('all lines that are wrong are told at once, with what was likely meant', () => {
  const text =
    'server.prot=80\nserver.port=none\nsecurity.enabled=yes\nserver.port=81\nanything=else\nalone\n'
  expect(configProblems(() => read(text))).toEqual([
    'some.properties, line 1: unknown key server.prot; did you mean server.port?',
    'some.properties, line 2: server.port must be a port number from 1 to 65535, not "none"',
    'some.properties, line 3: security.enabled must be true or false, not "yes"',
    'some.properties, line 4: server.port is set twice: remove one of the lines',
    'some.properties, line 5: unknown key anything; the keys are server.port, security.enabled',
    'some.properties, line 6: the line must be key=value',
  ])
})

test('problems of several files are told together, each once; what is no problem of them is thrown', () => {
  const parts = {
    one: () => read('server.prot=80'),
    same: () => read('server.prot=80'),
    right: () => read('server.port=80').values,
    other: () => read('security.enabled=no'),
  }
  expect(configProblems(() => readAll(parts))).toEqual([
    'some.properties, line 1: unknown key server.prot; did you mean server.port?',
    'some.properties, line 1: security.enabled must be true or false, not "no"',
  ])
  expect(readAll({ right: parts.right })).toEqual({ right: { 'server.port': 80 } })
  const broken = () => {
    throw new TypeError('a bug')
  }
  expect(() => readAll({ ...parts, broken })).toThrow(TypeError)
})
