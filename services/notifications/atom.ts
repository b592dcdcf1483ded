import { hash } from 'node:crypto'
import type { Notification } from '../../subjects/observability/notifications.ts'
import { maxPartLength } from '../../subjects/kit/download.ts'

/** Characters that XML 1.0 does not have, escaped or not. */
const notXml = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** A text inside of an element or an attribute. */
export const escapeXml = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(notXml, '\u{FFFD}')
    .replaceAll(/[&<>"']/g, (character) => escapes[character]!)

const element = (name: string, text: string, attributes = ''): string =>
  `<${name}${attributes}>${escapeXml(text)}</${name}>`

/**
 * Notifications as an Atom feed (RFC 4287).
 * @param all the newest first
 * @param instance id of the platform, which is that of the feed
 */
export function atomFeed(all: readonly Notification[], instance: string): string {
  const updated = all.reduce((latest, one) => (one.updated > latest ? one.updated : latest), never)
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    element('id', `urn:uuid:${feedIdOf(instance)}`),
    element('title', 'Gantry notifications'),
    element('updated', updated),
    `<author>${element('name', 'Gantry')}</author>`,
    ...fitting(all.map(entryOf)),
    '</feed>',
    '',
  ].join('\n')
}

/** A feed is one part of a download: two might be of different moments. Its head takes less than a thousand characters. */
function fitting(entries: readonly string[]): string[] {
  let length = 1_000
  return entries.filter((entry) => (length += entry.length + 1) <= maxPartLength)
}

/** A UUID of version 8 (RFC 9562) that is always the same for a platform. */
function feedIdOf(instance: string): string {
  const digits = hash('sha256', instance, 'hex')
  const parts = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `8${digits.slice(17, 20)}`,
  ]
  return [...parts, digits.slice(20, 32)].join('-')
}

/** Of a feed without entries. */
const never = new Date(0).toISOString()

function entryOf({ id, type, level, message, resolved, created, updated, facts }: Notification): string {
  const lines = Object.entries({ level, resolved, ...facts }).map(([name, value]) => `${name}: ${value}`)
  return [
    '<entry>',
    element('id', `urn:uuid:${id}`),
    element('title', message),
    element('published', created),
    element('updated', updated),
    `<category term="${escapeXml(type)}"/>`,
    `<category term="${escapeXml(level)}"/>`,
    element('content', [message, ...lines].join('\n'), ' type="text"'),
    '</entry>',
  ].join('\n')
}
