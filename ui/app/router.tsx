import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { uiPath } from '../../subjects/kit/names.ts'
import { Failure } from '../kit/failure.tsx'
import { places } from './places.ts'
import { Missing, Shell } from './shell.tsx'

const root = createRootRoute({ component: Shell, notFoundComponent: Missing })

export const router = createRouter({
  routeTree: root.addChildren(
    places.map(({ path, load }) =>
      createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(load) }),
    ),
  ),
  basepath: uiPath,
  defaultPreload: 'intent',
  defaultErrorComponent: ({ error }) => <Failure title="This page cannot be displayed" error={error} />,
})
