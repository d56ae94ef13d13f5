# The service's image: the static binary and nothing else.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /corewait ./cmd/corewait

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /corewait /corewait
USER 10001:10001
ENTRYPOINT ["/corewait"]
CMD ["version"]
