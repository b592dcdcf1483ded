import { Link, useParams } from '@tanstack/react-router'
import { extensions } from '../../../subjects/extensions/extensions.ts'
import { useAnswer } from '../../data/calls.ts'
import { Empty } from '../../kit/empty.tsx'
import { ExtensionContent } from '../../kit/extension-content.tsx'
import { Page } from '../../kit/page.tsx'

/** A page that an extension brings. */
export default function ExtensionPagePage() {
  const { prefix, _splat: rest = '' } = useParams({ strict: false }) as {
    readonly prefix: string
    readonly _splat?: string
  }
  const { data, error } = useAnswer(extensions.features, { prefix })
  const found = data?.find((one) => one.prefix === prefix)
  const route = found?.routes.find(({ path }) => path === `/${rest}`)
  return (
    <Page
      title={route?.title ?? found?.name ?? prefix}
      error={error}
      {...(route && { contract: extensions.resource, input: { prefix, uri: route.uri } })}
    >
      {route && <ExtensionContent prefix={prefix} uri={route.uri} title={route.title} />}
      {data !== undefined && route === undefined && (
        <Empty>
          This extension has no page at this address.{' '}
          <Link to="/extensions/$prefix" params={{ prefix }}>
            Show the extension
          </Link>
        </Empty>
      )}
    </Page>
  )
}
