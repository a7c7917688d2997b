// The web-standard signature: a request in, a response out. The body goes back as it comes.
export default {
  fetch(request) {
    const type = request.headers.get('content-type') || 'application/octet-stream';
    return new Response(request.body, { headers: { 'content-type': type } });
  },
};
