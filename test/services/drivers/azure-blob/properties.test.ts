import { expect, test } from 'vitest'
import { readProperties } from '../../../../services/drivers/contract/properties.ts'
import { azureProperties } from '../../../../subjects/filesystems/azure-properties.ts'
import type { Property } from '../../../../subjects/filesystems/properties.ts'
import { GantryError } from '../../../../subjects/kit/errors.ts'

const entries = Object.entries<Property>(azureProperties).flatMap(([name, property]) =>
  'unit' in property ? [[name, property] as const] : [],
)

const isNumber = (given: string) => entries.some(([name]) => name === given)

const problemsOf = (given: Record<string, string>): unknown => {
  try {
    readProperties(azureProperties, given)
  } catch (error) {
    // What is no number has no valid form; any other number only does not fit.
    const hasForm = Object.entries(given).every(([name, text]) => !isNumber(name) || /^\d{1,15}$/.test(text))
    if (error instanceof GantryError && error.code === (hasForm ? 'NOT_ACCEPTED' : 'INVALID_INPUT'))
      return error.details
    throw error
  }
  return []
}

test.each(entries)(
  '%s takes its bounds and its default, and nothing beyond',
  (name, { min, max, default: usual }) => {
    expect(usual).toBeGreaterThanOrEqual(min)
    expect(usual).toBeLessThanOrEqual(max)
    for (const value of [min, max, usual]) expect(problemsOf({ [name]: String(value) })).toEqual([])
    const wrong = [
      String(min - 1),
      String(max + 1),
      '',
      ' 5',
      '5.5',
      '1e3',
      '0x10',
      'five',
      '5 MB',
      '9'.repeat(400),
    ]
    for (const value of wrong) {
      expect(problemsOf({ [name]: value }), value).toMatchObject([{ field: `additionalProperties.${name}` }])
    }
  },
)

test('defaults hold where nothing is given', () => {
  const property = readProperties(azureProperties)
  expect(property('fs.azure.io.retry.max.retries')).toBe(4)
  expect(
    readProperties(azureProperties, { 'fs.azure.io.retry.max.retries': '007' })(
      'fs.azure.io.retry.max.retries',
    ),
  ).toBe(7)
})

test('every property that is wrong is named', () => {
  const given = {
    'fs.azure.io.retry.max.retries': 'x',
    'fs.s3a.endpoint': 'y',
    __proto__: 'z',
    toString: 'z',
  }
  expect(problemsOf(given)).toMatchObject([
    { field: 'additionalProperties.fs.azure.io.retry.max.retries' },
    { field: 'additionalProperties.fs.s3a.endpoint' },
    { field: 'additionalProperties.toString' },
  ])
})
