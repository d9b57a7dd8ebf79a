// A real OpenID Connect issuer for tests. Whoever sits before the browser is set by PUT /test/account; the
// rest is the standard, by oidc-provider.
import { createServer } from 'node:http';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { Provider } from 'oidc-provider';

const settings = JSON.parse(process.env.ISSUER_SETTINGS);
// It listens before it knows its own name, so that no other process can take the port in between.
const server = createServer();
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const issuer = `http://127.0.0.1:${server.address().port}`;

const jwk = (kind, options, more) => ({
  ...generateKeyPairSync(kind, options).privateKey.export({ format: 'jwk' }),
  kid: randomUUID(),
  use: 'sig',
  ...more,
});
const keys = [
  jwk('rsa', { modulusLength: 2048 }, { alg: 'RS256' }),
  jwk('ec', { namedCurve: 'P-256' }, { alg: 'ES256' }),
];

let account = null;
const accounts = new Map();

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: settings.clientId,
      client_secret: settings.clientSecret,
      redirect_uris: [settings.redirectUri],
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      id_token_signed_response_alg: settings.algorithm,
    },
  ],
  jwks: { keys },
  scopes: ['openid', 'profile', 'email', 'groups'],
  claims: {
    openid: ['sub'],
    profile: ['name', 'preferred_username'],
    email: ['email', 'email_verified'],
    groups: ['groups'],
  },
  // With true, groups are told by the userinfo endpoint alone.
  conformIdTokenClaims: settings.userInfo,
  pkce: { required: () => true },
  cookies: { keys: [randomUUID()] },
  features: { devInteractions: { enabled: false }, deviceFlow: { enabled: true } },
  interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_ctx, id) => accounts.has(id) && { accountId: id, claims: () => accounts.get(id) },
  // Consent is nothing that is tested here.
  async loadExistingGrant(ctx) {
    const { provider: { Grant }, client, session } = ctx.oidc;
    const grant = new Grant({ clientId: client.clientId, accountId: session.accountId });
    grant.addOIDCScope('openid profile email groups');
    await grant.save();
    return grant;
  },
});

async function body(request) {
  let text = '';
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

const standard = provider.callback();
server.on('request', async (request, response) => {
  try {
    if (request.method === 'PUT' && request.url === '/test/account') {
      account = await body(request);
      if (account) accounts.set(account.sub, account);
      response.writeHead(204).end();
    } else if (request.url.startsWith('/interaction/')) {
      const outcome = account
        ? { login: { accountId: account.sub } }
        : { error: 'access_denied', error_description: 'nobody is there' };
      await provider.interactionFinished(request, response, outcome, { mergeWithLastSubmission: false });
    } else {
      await standard(request, response);
    }
  } catch (error) {
    console.error(error);
    response.writeHead(500).end(String(error));
  }
});
console.log(`issuer ${issuer}`);
