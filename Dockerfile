# The service's image: one static binary that runs as an unprivileged user.
# For both architectures: docker buildx build --platform linux/amd64,linux/arm64 .
ARG VERSION=unknown
FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN tools/notices.sh >/third_party_notices.txt
ARG TARGETOS TARGETARCH VERSION
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags="-s -w -X main.version=$VERSION" -o /api ./cmd/api

FROM scratch
ARG VERSION
LABEL org.opencontainers.image.title="flashsale" \
      org.opencontainers.image.description="Coupon flash sale that does not oversell" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /third_party_notices.txt /
COPY --from=build /api /api
USER 65532:65532
ENV HTTP_ADDR=:8080
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=3s CMD ["/api", "health"]
ENTRYPOINT ["/api"]
CMD ["serve"]
